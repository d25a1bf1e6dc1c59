import { z } from 'zod';
import { type FieldError, HoldfastError } from '../errors/errors.js';
import { digestOf, type JsonObject } from '../json.js';
import { EVERYTHING, type ParsedCapability, parsePattern } from './capability-text.js';
import { PatternTrie, type Steps } from './capability-trie.js';

export type GrantEffect = 'allow' | 'ask' | 'deny';

/** A grant as it is written. A text means `allow`. */
export type GrantInput =
  | string
  | {
      readonly capability: string;
      readonly effect: GrantEffect;
      /** Whether the run itself may use it. Default true. */
      readonly use?: boolean | undefined;
      /** Whether it may be passed on to a child run. Default false. Where a run narrows its agent: as the agent has it. */
      readonly delegate?: boolean | undefined;
      /** What becomes of an unsafe call after the run has read what came from outside. Default: the same. See docs/agents/trust.md. */
      readonly afterUntrusted?: 'ask' | 'deny' | undefined;
    };

export interface Grant {
  readonly capability: string;
  readonly effect: GrantEffect;
  readonly use: boolean;
  readonly delegate: boolean;
  /** What it says of an unsafe call after the run has read what came from outside; absent: the same. */
  readonly afterUntrusted?: 'ask' | 'deny';
  /** 0: the agent. 1: what a run asked for of its agent; and so on. */
  readonly layer: number;
}

export interface GrantLayer {
  readonly grants: readonly Grant[];
  /** Of the grants that allow or ask. */
  readonly patterns: PatternTrie<Grant>;
  /** Of the grants that deny, compared so that they err to denial. */
  readonly denials: PatternTrie<Grant>;
  /** Of the grants that ask, now or after what came from outside, and whose lenient form is another one. */
  readonly cautions: PatternTrie<Grant>;
}

/** Every grant of a layer that covers a capability, in no order. Throws what `steps` throws. */
export const covering = (layer: GrantLayer, asked: Compared, steps?: Steps): readonly Grant[] => [
  ...layer.patterns.find(asked.tokens, steps),
  ...restricting(layer.denials, asked, steps),
];

/** The grants that restrict what looks like this capability to a lenient server. They allow nothing by themselves. */
export const cautioning = (layer: GrantLayer, asked: Compared): readonly Grant[] => restricting(layer.cautions, asked);

const restricting = (grants: PatternTrie<Grant>, { lenient, alike }: Compared, steps?: Steps): readonly Grant[] => [
  ...grants.find(lenient, steps),
  ...alike.flatMap((reading) => grants.find(reading, steps)),
];
export type Compared = Pick<ParsedCapability, 'tokens' | 'lenient' | 'alike'>;

/** What a run holds. Every layer must allow a request; the strictest one decides. A layer without grants allows nothing. */
export interface GrantSet {
  readonly grants: readonly Grant[];
  readonly policyVersion: string;
  readonly layers: readonly GrantLayer[];
}

const GRANTS_LIMIT = 10_000;
/** Of all grants of a set together: the steps of a question follow from these alone. */
const PLACES_LIMIT = 200_000;
const OPEN_LIMIT = 20_000;
const LAYERS_LIMIT = 32;

const effect = z.enum(['allow', 'ask', 'deny']);
const row = z.strictObject({
  capability: z.string(),
  effect,
  use: z.boolean().optional(),
  delegate: z.boolean().optional(),
  afterUntrusted: z.enum(['ask', 'deny']).optional(),
  layer: z
    .int()
    .min(0)
    .max(LAYERS_LIMIT - 1)
    .optional(),
});
type Row = z.infer<typeof row>;

const rank: Record<GrantEffect, number> = { deny: 0, ask: 1, allow: 2 };
/** Deny before ask before allow. */
export const stricterFirst = (a: GrantEffect, b: GrantEffect): number => rank[a] - rank[b];

/**
 * Reads grants, and what `grantsToJson` wrote. Throws `capability_invalid` with a pointer to every wrong one. To allow, or to
 * allow after asking, everything there is (`*:*:*`) takes the switch `allowEverything`.
 */
export function parseGrants(
  inputs: readonly GrantInput[],
  options: { readonly allowEverything?: boolean } = {},
): GrantSet {
  return grantSet(parseRows(inputs, { delegate: false, layer: 0, allowEverything: options.allowEverything === true }));
}

/** The grants of a set as plain JSON, in an order that depends on nothing but what they say. */
export const grantsToJson = (set: GrantSet): JsonObject[] => set.grants.map((grant) => ({ ...grant }));

interface RowDefaults {
  readonly delegate: boolean;
  readonly layer: number;
  readonly allowEverything: boolean;
}

interface ParsedGrant extends Compared {
  readonly grant: Grant;
}

export function parseRows(inputs: readonly GrantInput[], defaults: RowDefaults): readonly ParsedGrant[] {
  if (inputs.length > GRANTS_LIMIT) {
    throw new HoldfastError(
      'capability_invalid',
      `There are ${inputs.length} grants; at most ${GRANTS_LIMIT} are taken.`,
    );
  }
  const problems: FieldError[] = [];
  const parsed = inputs.flatMap((input, index) => {
    try {
      return [parseRow(input, defaults)];
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      problems.push({
        pointer: typeof input === 'string' ? `/grants/${index}` : `/grants/${index}/capability`,
        detail,
      });
      return [];
    }
  });
  const [first] = problems;
  if (first === undefined) return parsed;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  throw new HoldfastError('capability_invalid', `The grant at ${first.pointer} is wrong${more}: ${first.detail}`, {
    fields: problems,
  });
}

function parseRow(input: GrantInput, defaults: RowDefaults): ParsedGrant {
  const result = row.safeParse(typeof input === 'string' ? { capability: input, effect: 'allow' } : input);
  if (!result.success) {
    const detail = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
    throw new HoldfastError(
      'capability_invalid',
      `A grant is a text or {capability, effect, use?, delegate?, afterUntrusted?}. ${detail}`,
    );
  }
  const data: Row = result.data;
  const { text, ...compared } = parsePattern(data.capability);
  if (text === EVERYTHING && data.effect !== 'deny' && !defaults.allowEverything) {
    throw new HoldfastError('capability_invalid', `"${EVERYTHING}" takes the switch allowEverything.`);
  }
  const grant: Grant = {
    capability: text,
    effect: data.effect,
    use: data.use ?? true,
    delegate: data.delegate ?? defaults.delegate,
    layer: data.layer ?? defaults.layer,
    ...(data.afterUntrusted === undefined ? {} : { afterUntrusted: data.afterUntrusted }),
  };
  return { grant, ...compared };
}

/** Builds the set. Order and repetition of what comes in make no difference. */
export function grantSet(parsed: readonly ParsedGrant[]): GrantSet {
  const once = new Map(parsed.map((item) => [JSON.stringify(orderOf(item.grant)), item]));
  const sorted = [...once.entries()].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, item]) => item);
  const depth = sorted.reduce((deepest, { grant }) => Math.max(deepest, grant.layer), 0) + 1;
  const before = { places: 0, open: 0 };
  const layers = Array.from({ length: depth }, (_, layer) =>
    layerOf(
      sorted.filter(({ grant }) => grant.layer === layer),
      before,
    ),
  );
  const grants = sorted.map(({ grant }) => grant);
  return { grants, policyVersion: digestOf(grants), layers };
}

const orderOf = (grant: Grant) => [
  grant.layer,
  grant.capability,
  grant.effect,
  grant.use,
  grant.delegate,
  grant.afterUntrusted,
];

const tooMany = () =>
  new HoldfastError(
    'capability_invalid',
    `The grants have more than ${PLACES_LIMIT} segments together, or more than ${OPEN_LIMIT} at and after "**".`,
    {
      hint: 'Use fewer grants, or put "**" at the end of a path.',
    },
  );

/** `before` counts what the layers before have, and this one after them. */
function layerOf(parsed: readonly ParsedGrant[], before: { places: number; open: number }): GrantLayer {
  const [patterns, denials, cautions] = [new PatternTrie<Grant>(), new PatternTrie<Grant>(), new PatternTrie<Grant>()];
  for (const { grant, tokens, lenient } of parsed) {
    if (grant.effect === 'deny') denials.add(lenient, grant);
    else patterns.add(tokens, grant);
    const restricts = grant.effect === 'ask' || grant.afterUntrusted !== undefined;
    if (grant.effect !== 'deny' && restricts && lenient !== tokens) cautions.add(lenient, grant);
    if (before.places + patterns.places + denials.places + cautions.places > PLACES_LIMIT) throw tooMany();
    if (before.open + patterns.open + denials.open + cautions.open > OPEN_LIMIT) throw tooMany();
  }
  before.places += patterns.places + denials.places + cautions.places;
  before.open += patterns.open + denials.open + cautions.open;
  return { grants: parsed.map(({ grant }) => grant), patterns, denials, cautions };
}
