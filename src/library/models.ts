/** `holdfast/models`: models by name, of functions, and of providers that are no defaults. */

export {
  MultiModelProvider,
  nativeApi,
  OllamaModelProvider,
  openaiCompatible,
} from '../engine/agents/model-providers.js';
export type { NativeApiOptions } from '../models/native/native-options.js';
export { OllamaModel } from '../models/ollama/ollama-model.js';
export type { OpenAICompatibleOptions } from '../models/openai/openai-compatible-options.js';
export type { EmbeddingProvider, EmbeddingRequest } from '../models/providers/embedding-provider.js';
export { functionModel } from '../models/providers/function-model.js';
export { MultiModelProviderMap } from '../models/providers/multi-model-provider.js';
