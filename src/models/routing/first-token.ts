import type { Model, ModelRequest, StreamEvent } from '@openai/agents';
import { ModelCallError } from '../failures/model-call-error.js';
import { RawDeltas } from '../providers/raw-deltas.js';

/** A stream whose first token has come: nobody else can answer any more. */
export interface BegunStream {
  /** What came up to the first token. */
  readonly held: readonly StreamEvent[];
  readonly rest: AsyncIterator<StreamEvent>;
}

/** Before its first token a stream says little; one that says more is taken for begun. */
const MOST_HELD = 100;

/** Asks for a stream and waits for its first token: text, reasoning, a call, or a whole answer. Throws what the model throws before. */
export async function firstToken(model: Model, request: ModelRequest): Promise<BegunStream> {
  const rest = model.getStreamedResponse(request)[Symbol.asyncIterator]();
  const raw = new RawDeltas();
  const held: StreamEvent[] = [];
  for (;;) {
    const { done, value } = await rest.next();
    if (done === true) {
      throw new ModelCallError('model_failed', 'The stream of the model ended before its answer began.', {
        retryable: true,
      });
    }
    held.push(value);
    if (isToken(value, raw) || held.length >= MOST_HELD) return { held, rest };
  }
}

function isToken(event: StreamEvent, raw: RawDeltas): boolean {
  if (event.type === 'output_text_delta') return event.delta !== '';
  if (event.type === 'model') return raw.read(event.event).length > 0;
  return event.type === 'response_done';
}
