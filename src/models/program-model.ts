import { type Model, type ModelRequest, type ModelResponse, type StreamEvent, Usage } from '@openai/agents';
import { HoldfastError } from '../core/errors/errors.js';
import { isObject, type JsonObject, type JsonValue, toJson } from '../core/json.js';
import { FinalModelError } from './failures/model-call-error.js';
import { throwIfAborted } from './providers/abort.js';
import { responseEvents } from './providers/response-events.js';

export type ProgramOutput = ModelResponse['output'];

/** What a program is told besides the items of a request. */
export interface ProgramTurn {
  /** The number of the event that asks, in the log. */
  readonly logicalTime: number;
  /** The answer that is in the log, where a replay asks for it again; null: it is asked for the first time. */
  readonly recorded: readonly JsonObject[] | null;
  /** Why the time of its run is over, for a program that undoes what it did; null: it is not. */
  readonly timeOver: string | null;
}

/**
 * A program in the place of a model. It reads nothing but the request and what it is told of its turn, so that a replay can ask again
 * and compare. No tokens, no costs.
 */
export abstract class ProgramModel implements Model {
  /** What definitions call it in place of the name of a model. */
  abstract readonly kind: string;

  protected abstract outputOf(items: readonly JsonObject[], turn: ProgramTurn): ProgramOutput;

  /** Whether a run with this input undoes what it did before it ends: the end of its time then cancels nothing. */
  undoes(_input: JsonValue): boolean {
    return false;
  }

  /** Whether it is told of the place of its turn in the log, for which the log must be written first. */
  get knowsLogicalTime(): boolean {
    return false;
  }

  /** Throws `FinalModelError`. */
  answer(request: ModelRequest, turn: ProgramTurn): ModelResponse {
    throwIfAborted(request.signal);
    const items = itemsOf(request);
    try {
      const output = this.outputOf(items, turn);
      return { output, usage: new Usage(), responseId: `${this.kind}_${items.length}` };
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      throw new FinalModelError(error.code, error.message, { cause: error });
    }
  }

  /** Outside of a run, where there is no log. */
  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    return this.answer(request, { logicalTime: 0, recorded: null, timeOver: null });
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    yield { type: 'response_started' };
    yield* responseEvents(await this.getResponse(request));
  }
}

function itemsOf({ input }: ModelRequest): readonly JsonObject[] {
  const items = toJson(input);
  return Array.isArray(items) ? items.filter(isObject) : [{ type: 'message', role: 'user', content: items }];
}

/** What the calls of a conversation gave, by their ids: texts that `textOfOutcome` wrote. */
export const resultsIn = (items: readonly JsonObject[]): ReadonlyMap<JsonValue | undefined, string> =>
  new Map(
    items.flatMap((item) =>
      item['type'] === 'function_call_result' ? [[item['callId'], textOf(item['output'])] as const] : [],
    ),
  );

/** The text of a result: the SDK wraps texts. */
const textOf = (output: JsonValue | undefined): string => {
  const said = isObject(output) ? output['text'] : output;
  return typeof said === 'string' ? said : '';
};

/** A text that a program says. */
export const said = (text: string, providerData?: JsonObject): ProgramOutput[number] => ({
  ...{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] },
  ...(providerData === undefined ? {} : { providerData }),
});
