import type { BodyPlace, ToolSpec } from '../../src/core/tools/tool.js';

type PlaceForBody =
  /** `place`: where the body works; null: here. */
  { readonly type: 'found'; readonly place: BodyPlace | null } | { readonly type: 'lost'; readonly error: unknown };

/** Waits for a place before the intent is written: a call that waits for one has not begun. Null: it was stopped. */
export async function placeOf({ enter }: ToolSpec, signal: AbortSignal): Promise<PlaceForBody | null> {
  if (enter === undefined) return { type: 'found', place: null };
  try {
    return { type: 'found', place: await enter(signal) };
  } catch (error) {
    return signal.aborted ? null : { type: 'lost', error };
  }
}
