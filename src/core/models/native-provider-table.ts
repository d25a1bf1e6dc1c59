/** A package that Holdfast loads when the first model needs it. */
export interface OptionalPackage {
  readonly name: string;
  /** The version that Holdfast is tested with, as in `peerDependencies`. */
  readonly version: string;
}

/** The adapter of the Agents SDK for models of the AI SDK. */
export const ADAPTER_PACKAGE: OptionalPackage = { name: '@openai/agents-extensions', version: '0.18.0' };

export interface NativeProviderRow {
  readonly title: string;
  /** Anthropic's Messages, or Gemini's generateContent. */
  readonly api: 'anthropic' | 'google';
  readonly baseURL: string;
  /** The variable with the key; with `_FILE` behind the name, the variable with the path of a file that holds the key. */
  readonly keyVariable: string;
  /** The header that carries the key. */
  readonly keyHeader: string;
  /** The package of the AI SDK for this API. */
  readonly package: OptionalPackage;
  /** The name of the provider in the list of prices. */
  readonly listedAs: string;
}

/** The providers that Holdfast asks by their own API, by prefix. A test holds docs/models.md equal to this table. */
export const NATIVE_PROVIDERS: { readonly [prefix: string]: NativeProviderRow } = {
  'anthropic-native': {
    title: 'Anthropic',
    api: 'anthropic',
    baseURL: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    keyHeader: 'x-api-key',
    package: { name: '@ai-sdk/anthropic', version: '3.0.140' },
    listedAs: 'anthropic',
  },
  'google-native': {
    title: 'Google',
    api: 'google',
    baseURL: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariable: 'GEMINI_API_KEY',
    keyHeader: 'x-goog-api-key',
    package: { name: '@ai-sdk/google', version: '3.0.141' },
    listedAs: 'google',
  },
};
