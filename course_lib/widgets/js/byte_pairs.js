// Byte-level BPE in plain JavaScript, for gpt.js alone; the course's own is course_lib/text/bpe.py.

/**
 * The function from a text to its ids. words: the pattern that splits a text. firstByte: the id of byte 0.
 * merges: [left, right, id of the two together], the one learned first in front.
 */
export function bytePairEncoder({words, firstByte, merges}) {
  const key = (left, right) => `${left} ${right}`;
  const ranks = new Map(merges.map(([left, right], rank) => [key(left, right), rank]));
  const merged = (ids) => {
    for (;;) {
      const found = ids.slice(1).map((id, i) => ranks.get(key(ids[i], id)) ?? Infinity);
      const rank = Math.min(...found); // the merge learned first comes first
      if (rank === Infinity) return ids;
      ids.splice(found.indexOf(rank), 2, merges[rank][2]);
    }
  };
  const pattern = new RegExp(words, "gu");
  return (text) => Array.from(text.matchAll(pattern), ([word]) =>
    merged(Array.from(new TextEncoder().encode(word), (byte) => firstByte + byte))).flat();
}
