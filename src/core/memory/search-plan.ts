/** A word in so many documents or fewer is rare: all documents with it are looked at. */
export const RARE_DOCUMENTS = 500;

/** What is looked at for a query. */
export interface SearchPlan {
  /** A part of the query that has so few matches that all of them are ranked; null: there is none. */
  readonly rare: string | null;
  /** Whether that part is the whole query. */
  readonly isWhole: boolean;
}

interface Term {
  readonly text: string;
  /** Documents that it can have at most. */
  readonly most: number;
}

const TOKEN = /\s*(?:('(?:[^'\\]|''|\\.)*'(?::[A-D*]+)?)|(<->|<\d+>|[&|!()]))/y;

/**
 * Says what of a query is rare, by the text of a `tsquery` and in how many documents each word is; a word without a number may be in all.
 * A part that is one of several alternatives is rare by itself.
 */
export function planSearch(query: string, documentsOf: ReadonlyMap<string, number>): SearchPlan {
  const tokens = tokensOf(query);
  let at = 0;
  const take = (token: string): boolean => {
    if (tokens[at] !== token) return false;
    at++;
    return true;
  };

  const alternatives = (): Term[] => {
    const terms = [together()];
    while (take('|')) terms.push(together());
    return terms;
  };
  const together = (): Term => {
    const terms = [following()];
    while (take('&')) terms.push(following());
    return joined(terms, ' & ', Math.min);
  };
  const following = (): Term => {
    let term = single();
    for (let next = tokens[at]; next?.startsWith('<') === true; next = tokens[at]) {
      at++;
      term = joined([term, single()], ` ${next} `, Math.min);
    }
    return term;
  };
  const single = (): Term => {
    if (take('!')) return { text: `!${single().text}`, most: Number.POSITIVE_INFINITY };
    if (take('(')) {
      const inner = joined(alternatives(), ' | ', (...counts) => counts.reduce((sum, count) => sum + count, 0));
      take(')');
      return { text: `(${inner.text})`, most: inner.most };
    }
    const word = tokens[at++] ?? "''";
    return { text: word, most: documentsOf.get(wordOf(word)) ?? Number.POSITIVE_INFINITY };
  };

  if (tokens.length === 0) return { rare: null, isWhole: true };
  const terms = alternatives();
  const rare = terms.filter(({ most }) => most <= RARE_DOCUMENTS);
  return {
    rare: rare.length === 0 ? null : rare.map(({ text }) => text).join(' | '),
    isWhole: rare.length === terms.length,
  };
}

function tokensOf(query: string): readonly string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(query); found !== null; found = TOKEN.exec(query))
    tokens.push(found[1] ?? found[2] ?? '');
  return tokens;
}

const wordOf = (token: string): string =>
  token.slice(1, token.lastIndexOf("'")).replaceAll("''", "'").replaceAll(/\\(.)/g, '$1');

const joined = (terms: readonly Term[], by: string, count: (...counts: number[]) => number): Term => ({
  text: terms.map(({ text }) => text).join(by),
  most: count(...terms.map(({ most }) => most)),
});

/** What is added to a place: the first places of a list count more than later ones, and none counts for everything. */
const OFFSET = 60;

/** Keys of several lists, by the sum of 1 / (60 + place) over the lists that a key is in, then the lesser key. */
export function fusedOrder(lists: readonly (readonly string[])[], limit: number): string[] {
  const scores = new Map<string, number>();
  for (const keys of lists)
    for (const [at, key] of keys.entries()) scores.set(key, (scores.get(key) ?? 0) + 1 / (OFFSET + at + 1));
  return [...scores]
    .sort(([key, score], [other, others]) => others - score || (key < other ? -1 : 1))
    .slice(0, limit)
    .map(([key]) => key);
}
