const HEADING_BYTES = 8;

/**
 * Returns what a log of an engine says, as text of one line. Each piece begins with a heading: its stream, three zeros and its
 * length. A heading may hold bytes that look like letters, so it is cut off by its length.
 */
export function textOfLog(log: Buffer): string {
  const pieces: Buffer[] = [];
  let at = 0;
  while (at + HEADING_BYTES <= log.length) {
    const stream = log.readUInt8(at);
    // A log without headings is all text.
    if (stream > 2 || log.readUIntBE(at + 1, 3) !== 0) break;
    const size = log.readUInt32BE(at + 4);
    pieces.push(log.subarray(at + HEADING_BYTES, at + HEADING_BYTES + size));
    at += HEADING_BYTES + size;
  }
  if (at === 0) pieces.push(log);
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/[^\P{C}]+/gu, ' ')
    .trim();
}
