/** How often workers have died with a segment since its last step, and how often of these it had the worker to itself. */
export interface Crashes {
  readonly crashes: number;
  readonly alone: number;
}

/** After so many deaths a segment is a suspect: it has a worker to itself. */
export const SUSPECT_AFTER = 2;
/** For each death alone a suspect waits for so long before it begins again: what ends workers without it is seen then. */
const WAIT_MS = 5000;
/** A segment that is never alone when its worker dies has so many times the limit. */
const OTHERWISE = 5;

/** How often it has to be alone, and how often it dies at most, before its run ends. */
export const boundsOf = (limit: number): { readonly limit: number; readonly alone: number; readonly most: number } => ({
  limit,
  alone: Math.max(1, limit - SUSPECT_AFTER),
  most: limit * OTHERWISE,
});

/** Whether its run ends: it died alone often enough, or however it died too often. */
export function isGivenUp({ crashes, alone }: Crashes, crashLimit: number): boolean {
  const { limit, ...bounds } = boundsOf(crashLimit);
  return (crashes >= limit && alone >= bounds.alone) || crashes >= bounds.most;
}

/** Milliseconds before a suspect begins. */
export const suspectWaitsMs = ({ alone }: Crashes): number => alone * WAIT_MS;
