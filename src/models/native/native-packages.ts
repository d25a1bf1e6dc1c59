import type { AnthropicProvider } from '@ai-sdk/anthropic';
import type { Model } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { ADAPTER_PACKAGE, type NativeProviderRow } from '../../core/models/model-provider-table.js';
import { installCommand, type OptionalPackage, whyNotLoaded } from '../../core/optional-package.js';

/** The types of the AI SDK's models, version 3, as far as Holdfast touches them. */
export type LanguageModel = ReturnType<AnthropicProvider['languageModel']>;
export type CallOptions = Parameters<LanguageModel['doGenerate']>[0];
export type Prompt = CallOptions['prompt'];
export type WholeAnswer = Awaited<ReturnType<LanguageModel['doGenerate']>>;
export type StreamedAnswer = Awaited<ReturnType<LanguageModel['doStream']>>;
export type StreamPart = StreamedAnswer['stream'] extends ReadableStream<infer P> ? P : never;
export type FinishReason = WholeAnswer['finishReason'];
export type TokenUsage = WholeAnswer['usage'];

/** Where the AI SDK sends its requests, and how. */
export interface NativeSettings {
  readonly baseURL: string;
  readonly fetch: typeof fetch;
  /** Makes the id of a call that the API gave no id. */
  readonly generateId: () => string;
}

export interface NativePackages {
  /** Makes a model of the Agents SDK of one of the AI SDK. */
  readonly adapt: (model: LanguageModel) => Model;
  readonly open: (settings: NativeSettings) => (name: string) => LanguageModel;
}

/** `fetch` sets the real key. Without a key of its own a package would read one from the environment. */
const NO_KEY = 'unused';

/** Loads the optional packages of an API. Throws `model_unknown`, which names a missing package and the command that installs it. */
export async function nativePackages({ api, title, package: own }: NativeProviderRow): Promise<NativePackages> {
  const needed = [ADAPTER_PACKAGE, own];
  const { aisdk } = await loaded(() => import('@openai/agents-extensions/ai-sdk'), ADAPTER_PACKAGE, title, needed);
  // Its declarations leave out what `exactOptionalPropertyTypes` asks for.
  const adapt = (model: LanguageModel): Model => aisdk(model) as Model;
  if (api === 'anthropic') {
    const { createAnthropic } = await loaded(() => import('@ai-sdk/anthropic'), own, title, needed);
    return { adapt, open: (settings) => createAnthropic({ ...settings, apiKey: NO_KEY }).languageModel };
  }
  const { createGoogleGenerativeAI } = await loaded(() => import('@ai-sdk/google'), own, title, needed);
  return { adapt, open: (settings) => createGoogleGenerativeAI({ ...settings, apiKey: NO_KEY }).languageModel };
}

async function loaded<T>(
  load: () => Promise<T>,
  wanted: OptionalPackage,
  title: string,
  needed: readonly OptionalPackage[],
): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const message = `The API of ${title} needs the package ${wanted.name}, which ${whyNotLoaded(cause, wanted)}.`;
    throw new HoldfastError('model_unknown', message, {
      hint: `Run \`${installCommand(needed)}\`, or use a model of another provider.`,
      cause,
    });
  }
}
