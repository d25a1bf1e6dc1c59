import { withoutSecretPatterns } from '../../core/secrets/secret-patterns.js';
import { shownPart, withoutKnownSecrets } from '../secrets/known-secrets.js';

/** What an error of a model's server says, made fit for a log, an event and a person: short, readable, without keys. */

const MAX_CHARS = 2_000;

/** Without the secrets that are known, and without what looks like one. */
const withoutSecrets = (text: string): string => withoutSecretPatterns(withoutKnownSecrets(text));

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ', '#39': "'" };
const HTML = /<(?:!doctype|html|head|body|center|title|h1)\b/i;

/**
 * The text of an HTML page, as a proxy or a load balancer sends one in place of JSON; other texts as they are. What is opened and never
 * closed goes on to the end: a pattern that looked for each end again would take seconds for a page of openings.
 */
function withoutHtml(text: string): string {
  const start = text.search(HTML);
  if (start === -1) return text;
  return (
    text.slice(0, start) +
    text
      .slice(start)
      .replace(/<!--[\s\S]*?(?:-->|$)/g, ' ')
      .replace(/<(script|style|svg)\b[\s\S]*?(?:<\/\1\s{0,99}>|$)/gi, ' ')
      .replace(/<[^<>]*>/g, ' ')
      .replace(/&(amp|lt|gt|quot|nbsp|#39);/gi, (entity, name: string) => ENTITIES[name.toLowerCase()] ?? entity)
  );
}

/** At most 2,000 characters. */
export function failureText(text: string): string {
  // Bounded before the patterns run, so that a huge body costs nothing.
  const bounded = text.slice(0, 64 * 1024);
  // Twice: a page writes some characters in its own way, and a secret may look like a part of a page.
  const clean = withoutSecrets(withoutHtml(shownPart(bounded, bounded.length < text.length)))
    .replace(/\s+/g, ' ')
    .trim()
    .toWellFormed();
  return clean.length <= MAX_CHARS ? clean : `${clean.slice(0, MAX_CHARS - 1).toWellFormed()}…`;
}
