"""Archives in memory."""

import io
import tarfile
import zipfile


def zip_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive with fixed dates, so that its bytes are always the same."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            archive.writestr(info, content)
    return file.getvalue()


def tar_of(
    members: dict[str, bytes], mode: str = "w", kind: bytes = tarfile.REGTYPE, **headers: str
) -> bytes:
    """A tar archive. kind: of its members, which are links to /etc/passwd if any. headers: pax headers."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode, format=tarfile.PAX_FORMAT) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.type, info.pax_headers = len(content), kind, headers
            info.linkname = "" if kind in (tarfile.REGTYPE, tarfile.DIRTYPE) else "/etc/passwd"
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()
