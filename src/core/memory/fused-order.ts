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
