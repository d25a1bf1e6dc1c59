import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import { canonical, type JsonObject, type JsonValue, nameText, toJson } from '../json.js';
import type { StateProblem } from './agent-state.js';

/** Whose documents of a space are read together. */
export const MEMORY_SCOPES = ['run', 'session', 'user', 'agent', 'tenant'] as const;
export type MemoryScope = (typeof MEMORY_SCOPES)[number];

export const spaceName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'expected [a-z][a-z0-9_-]*, at most 64 characters');

const declaration = z.strictObject({
  name: spaceName,
  scope: z.enum(MEMORY_SCOPES),
  schema: z.custom<z.ZodType>((value) => value instanceof z.ZodType, 'must be a zod schema').optional(),
  retention: z.strictObject({ days: z.int().min(1).max(36_500) }).optional(),
  embedding: z
    .strictObject({
      model: nameText,
      dimensions: z.int().min(8).max(8192),
    })
    .optional(),
});

/** A space of documents that outlive runs. */
export interface MemorySpaceDeclaration {
  /** `[a-z][a-z0-9_-]*`, at most 64 characters. Agents that name the same space share it. */
  readonly name: string;
  /** `run`, `session`, `agent`, `tenant`: documents of one of these. `user`: of the one subject that a run is about. */
  readonly scope: MemoryScope;
  /** What a document must be. Default: any JSON object. */
  readonly schema?: z.ZodType;
  /** Days after its last change for which a document is kept. Default: until someone forgets it. */
  readonly retention?: { readonly days: number };
  /** The model that makes vectors of documents and queries. Default: none, and documents are found by words. See docs/agents/memory-by-meaning.md. */
  readonly embedding?: Embedding;
}

/** A model that makes vectors of texts. */
export interface Embedding {
  /** `openai/text-embedding-3-small`, `ollama/nomic-embed-text`, … */
  readonly model: string;
  /** Numbers of a vector. */
  readonly dimensions: number;
}

/** A space as the engine has it. */
export interface MemorySpace {
  readonly name: string;
  readonly scope: MemoryScope;
  /** Null: forever. */
  readonly days: number | null;
  /** Null: documents are found by words alone. */
  readonly embedding: Embedding | null;
  /** Says what does not fit a document. */
  readonly problemOf: StateProblem;
  /** What of it is part of the definition of an agent. */
  readonly definition: JsonObject;
}

const SPACES = new WeakSet<object>();

/** Declares a space, for `defineAgent({ memory: [space] })` and `memoryTools(space)`. Throws `agent_invalid`. */
export function memorySpace(declared: MemorySpaceDeclaration): MemorySpace {
  const parsed = declaration.safeParse(declared);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue === undefined ? '' : issue.path.map(String).join('.');
    throw new HoldfastError(
      'agent_invalid',
      `The memory space is not valid: ${where || 'it'}: ${issue?.message ?? ''}.`,
      {
        fields: [{ pointer: `/${where}`, detail: issue?.message ?? '' }],
      },
    );
  }
  const { name, scope, schema, retention, embedding = null } = parsed.data;
  const days = retention?.days ?? null;
  const space: MemorySpace = {
    ...{ name, scope, days, embedding },
    problemOf: (value) => problemIn(schema, value),
    definition: {
      ...{ name, scope, days },
      ...(schema === undefined ? {} : { schema: schemaOf(schema) }),
      ...(embedding === null ? {} : { embedding }),
    },
  };
  SPACES.add(space);
  return space;
}

export const isMemorySpace = (value: unknown): value is MemorySpace =>
  typeof value === 'object' && value !== null && SPACES.has(value);

const schemaOf = (schema: z.ZodType): JsonValue => toJson(z.toJSONSchema(schema, { unrepresentable: 'any' }));

function problemIn(schema: z.ZodType | undefined, value: JsonObject): string | null {
  let issues: readonly z.core.$ZodIssue[];
  try {
    issues = schema?.safeParse(value).error?.issues ?? [];
  } catch (error) {
    // A schema may have code of its own.
    return `it cannot be checked: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (issues.length === 0) return null;
  return issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.length === 0 ? 'the whole' : path.map(String).join('.')}: ${message}`)
    .join('; ');
}

/** Whether two declarations of one name say the same. */
export const isSameSpace = (a: MemorySpace, b: MemorySpace): boolean =>
  canonical(a.definition) === canonical(b.definition);
