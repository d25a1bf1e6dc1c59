/** Something that comes after others. */
interface Needing {
  readonly id: string;
  readonly needs: readonly string[];
}

interface Ordered<T> {
  readonly ordered: readonly T[];
  /** Nodes that need one another, the first of them again at the end; empty: there are none. */
  readonly cycle: readonly string[];
}

/** Puts nodes into an order in which each comes after those that it needs. */
export function inOrder<T extends Needing>(nodes: readonly T[]): Ordered<T> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const left = new Map(nodes.map((node) => [node.id, node.needs.length]));
  const needed = new Map<string, string[]>();
  for (const { id, needs } of nodes) {
    for (const need of needs) {
      const those = needed.get(need);
      if (those === undefined) needed.set(need, [id]);
      else those.push(id);
    }
  }
  const ordered = nodes.filter(({ needs }) => needs.length === 0);
  // It grows while it is read.
  for (const { id } of ordered) {
    for (const next of needed.get(id) ?? []) {
      const count = (left.get(next) ?? 0) - 1;
      left.set(next, count);
      const node = byId.get(next);
      if (count === 0 && node !== undefined) ordered.push(node);
    }
  }
  const done = new Set(ordered.map(({ id }) => id));
  return { ordered, cycle: ordered.length === nodes.length ? [] : cycleAmong(byId, done) };
}

/** Follows what is needed among the nodes that could not be ordered: each of these needs another one of them. */
function cycleAmong(byId: ReadonlyMap<string, Needing>, done: ReadonlySet<string>): readonly string[] {
  const way: string[] = [];
  let id = [...byId.keys()].find((one) => !done.has(one));
  while (id !== undefined && !way.includes(id)) {
    way.push(id);
    id = byId.get(id)?.needs.find((need) => !done.has(need));
  }
  return id === undefined ? way : [...way.slice(way.indexOf(id)), id];
}
