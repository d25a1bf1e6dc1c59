import type { FakeProvider } from './fake-provider.js';
import { ANTHROPIC, GATEWAY, LLAMACPP, LMSTUDIO, OPENAI, TOGETHER, VLLM } from './open-providers.js';
import { CEREBRAS, DEEPSEEK, FIREWORKS, GOOGLE, GROQ, MISTRAL, OPENROUTER, XAI } from './strict-providers.js';

export const PROVIDERS: readonly FakeProvider[] = [
  ...[MISTRAL, GROQ, CEREBRAS, FIREWORKS, DEEPSEEK, XAI, GOOGLE, OPENROUTER],
  ...[VLLM, LLAMACPP, LMSTUDIO, TOGETHER, OPENAI, ANTHROPIC, GATEWAY],
];
