/** Where one request stands with one candidate. */
export interface CandidateProgress {
  readonly group: number;
  readonly tries: number;
  /** It is not asked before. */
  readonly readyAt: number;
  /** It is asked only when no other is left. */
  readonly last: boolean;
  readonly out: boolean;
}

export type NextAttempt =
  | { readonly type: 'try'; readonly place: number }
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'over' };

/**
 * Who is asked next: within a group those that are ready, in their order, who was asked less often first; then, after a wait, those that
 * failed and may do better; then the next group; and in the end those that asked for time. `places` are those of the candidates, in their order;
 * `waitLeftMs` is how long the request may still wait.
 */
export function nextAttempt(
  places: readonly number[],
  progress: ReadonlyMap<number, CandidateProgress>,
  { attempts, now, waitLeftMs }: { readonly attempts: number; readonly now: number; readonly waitLeftMs: number },
): NextAttempt {
  const open = places.flatMap((place) => {
    const one = progress.get(place);
    return one === undefined || one.out || one.tries >= attempts ? [] : [{ place, ...one }];
  });
  const prompt = open.filter(({ last }) => !last);
  const groups = [...new Set(prompt.map(({ group }) => group))].sort((a, b) => a - b);
  for (const members of [...groups.map((group) => prompt.filter((one) => one.group === group)), open]) {
    const [ready] = members.filter(({ readyAt }) => readyAt <= now).sort((a, b) => a.tries - b.tries);
    if (ready !== undefined) return { type: 'try', place: ready.place };
    const ms = Math.min(...members.map(({ readyAt }) => readyAt)) - now;
    if (ms <= waitLeftMs) return { type: 'wait', ms };
  }
  return { type: 'over' };
}

/** How long before a candidate is asked again: doubles with each try; `random` in [0, 1) spreads it over its upper half. */
export const backoffMs = (minWaitMs: number, tries: number, random: number): number =>
  Math.round(minWaitMs * 2 ** (tries - 1) * (0.5 + random / 2));
