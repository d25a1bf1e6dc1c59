/**
 * Placeholders in the texts of a task: `{{name}}`, also with spaces inside. A backslash before one takes it for text: `\{{name}}`
 * becomes `{{name}}`. Other braces are left alone.
 */

const PLACEHOLDER = /(\\?)\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}/g;

/** The names of a text, each once. */
export const placeholdersIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(PLACEHOLDER)].flatMap(([, escaped, name = '']) => (escaped === '' ? [name] : []))),
];

/** A text with its placeholders filled in. What is filled in is not read again. A name without a value stays as it is. */
export const fillIn = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(PLACEHOLDER, (whole, escaped: string, name: string) =>
    escaped === '' ? (values.get(name) ?? whole) : whole.slice(1),
  );

/** How long a text is when its placeholders are filled in, without filling them in. */
export function filledLength(text: string, values: ReadonlyMap<string, string>): number {
  let length = text.length;
  for (const [whole, escaped, name = ''] of text.matchAll(PLACEHOLDER))
    length += escaped === '' ? (values.get(name)?.length ?? whole.length) - whole.length : -1;
  return length;
}

/** A text that is filled in to what it was, whatever it says. */
export const literally = (text: string): string => text.replaceAll(PLACEHOLDER, '\\$&');
