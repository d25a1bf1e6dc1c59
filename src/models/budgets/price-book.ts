import type { ModelPrice } from '@pydantic/genai-prices';
import type { PriceName } from '../../core/budgets/charge.js';
import {
  type ConfiguredPrice,
  type Price,
  type PriceTable,
  priceOfConfigured,
  type Rate,
} from '../../core/budgets/price.js';
import { digestOf } from '../../core/json.js';
import { NATIVE_PROVIDERS } from '../../core/models/model-provider-table.js';
import { parseModelName } from '../providers/multi-model-provider.js';

/** Of the package `@pydantic/genai-prices`, whose list is in it. */
export const PRICE_LIST_VERSION = '0.1.8';

export interface NamedPrice {
  readonly price: Price;
  readonly name: PriceName;
}

type List = Pick<typeof import('@pydantic/genai-prices'), 'calcPrice'>;

/** What the list calls a provider, where its prefix is another one. */
const LISTED_AS: { readonly [prefix: string]: string } = {
  ...{ gemini: 'google', xai: 'x-ai', moonshot: 'moonshotai' },
  ...Object.fromEntries(Object.entries(NATIVE_PROVIDERS).map(([prefix, { listedAs }]) => [prefix, listedAs])),
};

/** A price may go by the time of the day. */
const KEPT_MS = 60_000;
const KEPT_COUNT = 1000;

/** The prices of models by their names: those of the configuration, then those of the list, then the ceiling. */
export class PriceBook {
  readonly #list: List;
  readonly #exact = new Map<string, NamedPrice>();
  readonly #prefixes: readonly (readonly [string, NamedPrice])[];
  readonly #ceiling: NamedPrice | null;
  readonly #kept = new Map<string, { readonly untilMs: number; readonly price: NamedPrice | null }>();

  private constructor(list: List, prices: PriceTable, ceiling: ConfiguredPrice | null) {
    this.#list = list;
    const prefixes: [string, NamedPrice][] = [];
    for (const [name, configured] of Object.entries(prices)) {
      const price = named('config', configured);
      const prefix = name.slice(0, -1);
      if (name.endsWith('*')) {
        prefixes.push([prefix, price]);
        // A beginning may be that of a name of OpenAI's, or that of a prefix.
        if (prefix !== '' && !prefix.includes('/')) prefixes.push([fullName(prefix), price]);
      } else this.#exact.set(fullName(name), price);
    }
    this.#prefixes = prefixes.sort(([a], [b]) => b.length - a.length);
    this.#ceiling = ceiling === null ? null : named('ceiling', ceiling);
  }

  /** Reads the list, which is large, once. `ceiling`: what counts where no price is known; null: nothing does. */
  static async open(prices: PriceTable, ceiling: ConfiguredPrice | null): Promise<PriceBook> {
    return new PriceBook(await import('@pydantic/genai-prices'), prices, ceiling);
  }

  /** The price of a model at a time; null: none is known. Only what is configured is free. */
  priceOf(model: string, atMs: number): NamedPrice | null {
    const name = fullName(model);
    const kept = this.#kept.get(name);
    if (kept !== undefined && kept.untilMs > atMs && kept.untilMs - KEPT_MS <= atMs) return kept.price;
    const price = this.#configured(name) ?? this.#listed(name, atMs) ?? this.#ceiling;
    if (this.#kept.size >= KEPT_COUNT) this.#kept.clear();
    this.#kept.set(name, { untilMs: atMs + KEPT_MS, price });
    return price;
  }

  #configured(name: string): NamedPrice | null {
    const exact = this.#exact.get(name);
    return exact ?? this.#prefixes.find(([prefix]) => name.startsWith(prefix))?.[1] ?? null;
  }

  #listed(model: string, atMs: number): NamedPrice | null {
    const { prefix, name } = parseModelName(model);
    if (prefix === null || name === '') return null;
    const providerId = LISTED_AS[prefix] ?? prefix;
    const found = this.#list.calcPrice({ input_tokens: 1 }, name, { providerId, timestamp: new Date(atMs) });
    // The list also finds providers by a part of their name: a prefix of the user's own is not one of those.
    if (found === null || found.provider.id !== providerId) return null;
    const price = priceOfListed(found.model_price);
    return price === null ? null : { price, name: { source: 'genai-prices', version: PRICE_LIST_VERSION } };
  }
}

/** A name without a prefix is one of OpenAI's. */
const fullName = (name: string): string => (name.includes('/') ? name : `openai/${name}`);

const named = (source: 'config' | 'ceiling', configured: ConfiguredPrice): NamedPrice => ({
  price: priceOfConfigured(configured),
  name: { source, version: digestOf(configured).slice('sha256:'.length, 'sha256:'.length + 12) },
});

function priceOfListed(listed: ModelPrice): Price | null {
  const input = rateOf(listed['input_mtok']);
  const output = rateOf(listed['output_mtok']);
  if (input === null && output === null) return null;
  const none: Rate = { base: 0n, tiers: [] };
  const perThousand = listed['requests_kcount'];
  return {
    input: input ?? none,
    output: output ?? none,
    cachedInput: rateOf(listed['cache_read_mtok']),
    cacheWrite: rateOf(listed['cache_write_mtok']),
    reasoning: rateOf(listed['output_reasoning_mtok']),
    perCall: typeof perThousand === 'number' ? (nanos(perThousand) + 999n) / 1000n : 0n,
  };
}

function rateOf(listed: ModelPrice[string]): Rate | null {
  if (listed === undefined) return null;
  if (typeof listed === 'number') return { base: nanos(listed), tiers: [] };
  return {
    base: nanos(listed.base),
    tiers: listed.tiers.map(({ start, price }) => ({ over: start, rate: nanos(price) })),
  };
}

/** Dollars as a number of the list, to nano-dollars: the list has far fewer than nine decimals. */
const nanos = (usd: number): bigint => BigInt(usd.toFixed(9).replace('.', ''));
