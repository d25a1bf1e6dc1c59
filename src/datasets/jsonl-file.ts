import type { JsonObject } from '../core/json.js';
import { Growing, type Naming, type PartFile } from './part-file.js';

/** Characters after which lines are written. */
const BATCH_CHARS = 1_000_000;

/** One row on each line, as JSON in UTF-8. */
export function jsonlFile(path: string, naming: Naming = { digested: false }): PartFile {
  const growing = new Growing(path, naming);
  let rows = 0;
  let text = '';
  const flush = async (): Promise<void> => {
    const bytes = Buffer.from(text);
    text = '';
    if (bytes.byteLength > 0) await growing.append(bytes);
  };
  return {
    write: async (more) => {
      let chars = 0;
      for (const row of more) {
        const line = `${lineOf(row)}\n`;
        text += line;
        chars += line.length;
        rows += 1;
        if (text.length >= BATCH_CHARS) await flush();
      }
      return chars;
    },
    end: async () => {
      if (rows === 0) return null;
      await flush();
      return { rows, ...(await growing.end()) };
    },
    abandon: () => growing.abandon(),
  };
}

/** Readers that split at U+2028 and U+2029, too, must not find them within a line. */
const lineOf = (row: JsonObject): string =>
  JSON.stringify(row).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
