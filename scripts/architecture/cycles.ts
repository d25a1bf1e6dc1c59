/** Groups of files that reach each other, the largest first (Tarjan's strongly connected components). */
export function cycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];
  /** Returns the lowest open node that a node reaches. */
  const visit = (node: string): number => {
    const own = index.size;
    index.set(node, own);
    open.push(node);
    let low = own;
    for (const child of graph.get(node) ?? []) {
      const seen = index.get(child);
      if (seen === undefined) low = Math.min(low, visit(child));
      else if (open.includes(child)) low = Math.min(low, seen);
    }
    if (low === own) {
      const group = open.splice(open.indexOf(node));
      if (group.length > 1) found.push(group.toSorted());
    }
    return low;
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return found.toSorted((a, b) => b.length - a.length);
}
