import type { Model, ModelProvider, ModelRequest, ModelResponse, StreamEvent } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { targetOf } from '../../src/models/providers/multi-model-provider.js';
import { currentSegment } from '../segment-context.js';
import type { AskedModel } from './ask-model.js';
import { takeTurn } from './take-turn.js';

/** A model whose calls are durable steps while a segment runs, and plain calls elsewhere. */
class DurableModel implements Model {
  readonly #model: Model;
  readonly #named: AskedModel;

  constructor(named: AskedModel) {
    this.#model = named.model;
    this.#named = named;
  }

  getResponse(request: ModelRequest): Promise<ModelResponse> {
    const scope = currentSegment();
    return typeof scope === 'object' ? takeTurn(scope, this.#named, request) : this.#model.getResponse(request);
  }

  getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    if (typeof currentSegment() === 'object') {
      throw new HoldfastError(
        'agent_invalid',
        'A streamed model call cannot be a durable step; run the agent without streaming.',
      );
    }
    return this.#model.getStreamedResponse(request);
  }
}

const durable = new WeakMap<Model, Map<string, DurableModel>>();

/** The durable side of a model that an agent holds itself, as the log calls it: the name of the agent. */
export const asDurable = (model: Model, agent: string): Model =>
  durableOf({ model, name: agent, target: { provider: 'object', model: agent } });

/** The name is not that of the one that came first in this process. */
function durableOf(named: AskedModel): Model {
  const { model, name, target } = named;
  if (model instanceof DurableModel) return model;
  const names = durable.get(model) ?? new Map<string, DurableModel>();
  durable.set(model, names);
  const key = `${target.provider} ${name}`;
  const known = names.get(key) ?? new DurableModel(named);
  names.set(key, known);
  return known;
}

/** A provider whose models are durable. */
export const durableProvider = (provider: ModelProvider): ModelProvider => ({
  getModel: async (name) =>
    durableOf({ model: await provider.getModel(name), name: name ?? 'default', target: targetOf(name) }),
});
