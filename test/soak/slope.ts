/** A figure at a moment: hours since the first one, and how much it was then. */
export interface Point {
  readonly hours: number;
  readonly value: number;
}

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

/** By how much a figure grows in an hour: the median of the slopes between any two points, so that no single one decides. 0: too few. */
export function slopeOf(points: readonly Point[]): number {
  const slopes = points.flatMap((a, n) =>
    points.slice(n + 1).flatMap((b) => (b.hours > a.hours ? [(b.value - a.value) / (b.hours - a.hours)] : [])),
  );
  return slopes.length === 0 ? 0 : median(slopes);
}
