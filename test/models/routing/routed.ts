import {
  type Model,
  type ModelProvider,
  type ModelRequest,
  OpenAIProvider,
  type StreamEvent,
  withTrace,
} from '@openai/agents';
import type { RouterConfig } from '../../../src/core/routing/router-config.js';
import { planOf } from '../../../src/core/routing/router-plan.js';
import { seededRandom } from '../../../src/core/seeded-random.js';
import { type AttemptContext, type AttemptedModel, UNWATCHED } from '../../../src/models/providers/model-attempt.js';
import { type AttemptNote, RouterProvider } from '../../../src/models/routing/router-model.js';

/** Nano-dollars for so many tokens, by model. */
export type Costs = { readonly [model: string]: (tokens: number) => number };

/** Routers over given models, with a clock that only waiting moves. */
export class Routed {
  now = 1_000_000;
  readonly waits: number[] = [];
  readonly notes: AttemptNote[] = [];
  readonly #routers: RouterProvider;
  readonly #costs: Costs;

  constructor(
    configs: { readonly [name: string]: RouterConfig },
    models: { readonly [name: string]: Model | Promise<Model> },
    costs: Costs = {},
  ) {
    this.#costs = costs;
    const plans = Object.entries(configs).map(([name, config]) => planOf(name, config));
    const all: ModelProvider = {
      getModel: async (name = '') => {
        if (name.startsWith('router/')) return this.#routers.getModel(name.slice('router/'.length));
        const model = models[name];
        if (model === undefined) throw new Error(`there is no model ${name}`);
        return model;
      },
    };
    this.#routers = new RouterProvider(plans, {
      models: all,
      costOf: ({ model }, input, output) => this.#costs[model]?.(input + output) ?? null,
      now: () => this.now,
      random: seededRandom('routed'),
      wait: async (ms) => {
        this.waits.push(ms);
        this.now += ms;
      },
      onFailed: (note) => this.notes.push(note),
    });
  }

  async attempt(router: string, context: Partial<AttemptContext> = {}): Promise<AttemptedModel> {
    const model = await this.#routers.getModel(router);
    if (!('attempt' in model) || typeof model.attempt !== 'function') throw new Error('a router makes attempts');
    return model.attempt({ runId: null, taskType: null, watch: UNWATCHED, ...context });
  }

  /** Asks once, and says what was answered and how it came to it. */
  async ask(router: string, request: ModelRequest, context: Partial<AttemptContext> = {}) {
    const attempt = await this.attempt(router, context);
    const { output } = await withTrace('routed', () => attempt.getResponse(request));
    return { text: textIn(output), route: attempt.route };
  }

  /** The same, streamed. `seen` has every event, also when it fails. */
  async stream(router: string, request: ModelRequest, seen: StreamEvent[] = []) {
    const attempt = await this.attempt(router);
    await withTrace('routed', async () => {
      for await (const event of attempt.getStreamedResponse(request)) seen.push(event);
    });
    return { text: deltasIn(seen), route: attempt.route };
  }
}

export const deltasIn = (events: readonly StreamEvent[]): string =>
  events.map((event) => (event.type === 'output_text_delta' ? event.delta : '')).join('');

const textIn = (output: readonly object[]): string =>
  output
    .flatMap((item) => ('content' in item && Array.isArray(item.content) ? item.content : []))
    .map((part: { text?: string }) => part.text ?? '')
    .join('');

/** A model that a server on loopback answers for, in Chat Completions. */
export const chatModel = ({ url }: { readonly url: string }): Promise<Model> =>
  new OpenAIProvider({ apiKey: 'sk-test-0123456789', baseURL: `${url}/v1`, useResponses: false }).getModel('m');
