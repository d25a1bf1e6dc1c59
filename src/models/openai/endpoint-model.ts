import { type Model, OpenAIChatCompletionsModel } from '@openai/agents';
import { ChatModel } from '../providers/chat-model.js';
import type { Endpoint } from './endpoint.js';
import type { EndpointClient } from './openai-client.js';
import { ResponsesModel } from './responses-model.js';

/** A model at an endpoint. Recordings of older builds name no dialect, and are played by the SDK's own model. */
export function endpointModel(
  api: 'responses' | 'chat',
  client: EndpointClient,
  endpoint: Endpoint,
  name: string,
): Model {
  if (api === 'responses') return new ResponsesModel(client, endpoint, name);
  const { dialect } = endpoint;
  return dialect === null
    ? new OpenAIChatCompletionsModel(client, name, { strictFeatureValidation: true })
    : new ChatModel(client, endpoint, dialect, name);
}
