/**
 * What this process knows as secret: every key that was read, with the forms in which it can come back. Whatever becomes an error, an
 * event or a line of a log goes through `withoutKnownSecrets`.
 */

/** Shorter values are ordinary words, such as the placeholder keys of local servers; to hide them would garble every text. */
const MIN_CHARS = 8;
/** Keys change: the oldest are forgotten, long after their servers have. */
const MAX_KNOWN = 200;
const HIDDEN = '[redacted]';

/** Headers whose values are secret, whatever they look like. */
export const isSecretHeader = (name: string): boolean =>
  /auth|key|token|secret|cookie|credential|password|signature/i.test(name);

const known = new Map<string, readonly string[]>();

/** Makes a secret known for as long as the process lives. */
export function knowSecret(value: string): void {
  if (value.length < MIN_CHARS) return;
  const forms = known.get(value) ?? formsOf(value);
  known.delete(value);
  known.set(value, forms);
  if (known.size <= MAX_KNOWN) return;
  const [oldest] = known.keys();
  if (oldest !== undefined) known.delete(oldest);
}

/** The text without any secret that is known, in any of its forms. */
export function withoutKnownSecrets(text: string): string {
  let clean = text;
  for (const forms of known.values()) clean = withoutForms(clean, forms);
  return clean;
}

/** Every form of every secret that is known. */
export const knownForms = (): readonly string[] => [...known.values()].flat();

/** A secret as it is, in an URL, in JSON, and inside of something in base64. Longest first. */
export function formsOf(value: string): readonly string[] {
  if (value.length < MIN_CHARS) return [];
  const json = JSON.stringify(value).slice(1, -1);
  const forms = [value, encodeURIComponent(value), encodeURI(value), json, json.replaceAll('/', '\\/')];
  const bytes = Buffer.from(value, 'utf8');
  // Three bytes are four characters: where the secret begins in them decides what it looks like.
  for (const before of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const text = whole.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((whole.length * 8) / 6));
    forms.push(text, encodeURIComponent(text), text.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
}

export function withoutForms(text: string, forms: readonly string[]): string {
  let clean = text;
  for (const form of forms) if (clean.includes(form)) clean = clean.replaceAll(form, HIDDEN);
  return clean;
}
