import { z } from 'zod';

/**
 * What a model says while it answers. Deltas are live only: no log has them, nothing depends on them, and the answer in
 * `model.responded` is what counts.
 */
const of = { runId: z.string(), turn: z.int().min(1) };
const piece = {
  ...of,
  attempt: z.string().describe('Id of one try to get the answer of a turn. A newer one of the same turn replaces it.'),
  index: z.int().min(0).describe('Place within the attempt, from 0 on without holes, unless some were dropped.'),
  delta: z.string(),
};

export const deltaPiece = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), ...piece }),
  z.object({ type: z.literal('reasoning'), ...piece }),
  z.object({
    type: z.literal('arguments'),
    ...piece,
    callId: z.string().nullable().describe('As the model gives it; null: it has not said.'),
    tool: z.string().nullable(),
  }),
]);
export type DeltaPiece = z.infer<typeof deltaPiece>;

/** `by` began to answer the turn again: what came of `attempt` counts for nothing. */
const replaced = z.object({ type: z.literal('replaced'), ...of, attempt: z.string(), by: z.string() });

/** So many deltas were left out here, because the client read too slowly. */
const dropped = z.object({ type: z.literal('dropped'), runId: z.string(), count: z.int().min(1) });

export const runDelta = z.discriminatedUnion('type', [...deltaPiece.options, replaced, dropped]);
export type RunDelta = z.infer<typeof runDelta>;

/** A piece as a model gives it, before it has a place. */
export type ModelDelta =
  | { readonly type: 'text' | 'reasoning'; readonly delta: string }
  | {
      readonly type: 'arguments';
      readonly delta: string;
      readonly callId: string | null;
      readonly tool: string | null;
    };

/** Where the deltas of one attempt go. Neither waits nor throws; after `end` nothing is taken any more. */
export interface DeltaSink {
  add(delta: ModelDelta): void;
  end(): void;
}

/** Takes the deltas of runs while they come. */
export interface Deltas {
  begin(runId: string, turn: number): DeltaSink;
}
