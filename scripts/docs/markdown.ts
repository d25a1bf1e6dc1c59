import type { z } from 'zod';

const cell = (text: string): string => text.replaceAll('\n', ' ').replaceAll('|', '\\|').trim();

/** A table of Markdown; an empty cell is left empty. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

export const code = (text: string): string => `\`${text}\``;

export const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

/** The fields of a schema with their descriptions. Throws where a field has none. */
export const fieldTable = (schema: z.ZodObject): string =>
  table(
    ['Field', 'Meaning'],
    Object.entries(schema.shape).map(([name, field]) => {
      if (field.description === undefined) throw new Error(`The field "${name}" has no description: add .describe().`);
      return [code(name), field.description];
    }),
  );

const WIDTH = 100;

/** Breaks a paragraph, or an item of a list, into lines of at most 100 characters. */
export function wrapped(text: string, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && `${line} ${word}`.length > WIDTH) {
      lines.push(line);
      line = `${indent}${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}
