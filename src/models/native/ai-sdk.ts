import type { AnthropicProvider } from '@ai-sdk/anthropic';

/** The types of the AI SDK's models, version 3, as far as Holdfast touches them. */
export type LanguageModel = ReturnType<AnthropicProvider['languageModel']>;
export type CallOptions = Parameters<LanguageModel['doGenerate']>[0];
export type Prompt = CallOptions['prompt'];
export type WholeAnswer = Awaited<ReturnType<LanguageModel['doGenerate']>>;
export type StreamedAnswer = Awaited<ReturnType<LanguageModel['doStream']>>;
export type StreamPart = StreamedAnswer['stream'] extends ReadableStream<infer P> ? P : never;
export type FinishReason = WholeAnswer['finishReason'];
export type TokenUsage = WholeAnswer['usage'];
