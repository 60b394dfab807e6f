"""Catalog entries: images."""

from course_lib.datasets.spec import DataSet

DIGITS = tuple("0123456789")
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_MNIST = {  # images and labels of the training set, then of the test set
    "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
_MNIST_SITES = ("ossci-datasets.s3.amazonaws.com", "storage.googleapis.com/cvdf-datasets")
_CIFAR10 = {
    "data_batch_1": "54636561a3ce25bd3e19253c6b0d8538147b0ae398331ac4a2d86c6d987368cd",
    "data_batch_2": "766b2cef9fbc745cf056b3152224f7cf77163b330ea9a15f9392beb8b89bc5a8",
    "data_batch_3": "0f00d98ebfb30b3ec0ad19f9756dc2630b89003e10525f5e148445e82aa6a1f9",
    "data_batch_4": "3f7bb240661948b8f4d53e36ec720d8306f5668bd0071dcb4e6c947f78e9682b",
    "data_batch_5": "d91802434d8376bbaeeadf58a737e3a1b12ac839077e931237e0dcd43adcb154",
    "test_batch": "f53d8d457504f7cff4ea9e021afcf0e0ad8e24a91f3fc42091b8adef61157831",
}


def _mnist(file: str = "", sha256: str = "") -> DataSet:
    """MNIST, or one of its four files."""
    return DataSet(
        name="mnist",
        about="70,000 handwritten digits, 28×28, grayscale",
        license="none stated by its makers (LeCun, Cortes, Burges; from NIST's Special Databases 1 and 3)",
        source="images",
        file=f"MNIST/raw/{file}-ubyte.gz" if file else "MNIST/raw",
        urls=tuple(f"https://{site}/mnist/{file}-ubyte.gz" for site in _MNIST_SITES if file),
        sha256=sha256,
        parts=() if file else tuple(_mnist(*part) for part in _MNIST.items()),
        classes=DIGITS,
    )


IMAGE_SETS = (
    DataSet(
        name="digits",
        about="1,797 handwritten digits, 8×8, grayscale; part of scikit-learn",
        license="CC BY 4.0 (UCI Machine Learning Repository: Optical Recognition of Handwritten Digits)",
        source="images",
        classes=DIGITS,
    ),
    _mnist(),
    DataSet(
        name="cifar10",
        about="60,000 photos of ten kinds of animals and vehicles, 32×32, in color (CIFAR-10)",
        license="none stated by its makers (Krizhevsky 2009, Learning Multiple Layers of Features)",
        source="images",
        file="cifar-10/cifar-10-python.tar.gz",
        urls=(
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            "https://dataset.bj.bcebos.com/cifar/cifar-10-python.tar.gz",
        ),
        members=tuple((f"cifar-10-batches-py/{name}", sha256) for name, sha256 in _CIFAR10.items()),
        classes=CIFAR10,
    ),
)
