import { statSync } from 'node:fs';
import { z } from 'zod';
import { type FieldError, HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, placeOf, pointerTo } from '../../core/field-errors.js';
import { parseRequest } from '../../core/grants/capability-text.js';
import { LONGEST_MS } from '../../core/interruptions/wait.js';
import { type IsolatedToolDeclaration, MOST_OUTPUT_BYTES, type ToolDeclaration } from '../../core/tools/tool.js';
import { UNTRUSTED_WAYS } from '../../core/tools/tool-memory.js';

const anyFunction = z.custom<(...args: never) => unknown>((value) => typeof value === 'function', 'must be a function');
/** What a body has that works in this process, and what one has that works apart. */
const HERE = ['execute', 'resume', 'state'] as const;
const APART = ['module', 'export', 'limits', 'env'] as const;

const isFile = (value: unknown): boolean =>
  value instanceof URL && value.protocol === 'file:' && statSync(value, { throwIfNoEntry: false })?.isFile() === true;
const moduleFile = z.custom<URL>(isFile, 'must be the URL of a file that is there');
const milliseconds = z.int().min(1);
/** A value that a process can have in its environment. */
const variable = z.string().refine((text) => !text.includes('\0'), 'must be a text without NUL');

const capability = z.string().superRefine((text, context) => {
  try {
    parseRequest(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
  }
});

const declaration = z
  .strictObject({
    name: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be [a-z][a-z0-9_]* of at most 64 characters'),
    version: z.string().min(1).max(64).optional(),
    description: z.string().min(1).max(8192),
    input: z.instanceof(z.ZodObject, { error: 'must be a zod object' }),
    output: z.instanceof(z.ZodType, { error: 'must be a zod schema' }),
    capabilities: z.union([z.array(capability).min(1).max(100), anyFunction]).optional(),
    effect: z.enum(['pure', 'idempotent', 'unsafe']).optional(),
    deterministic: z.boolean().optional(),
    timeoutMs: milliseconds.max(3_600_000).optional(),
    maxOutputBytes: z.int().min(1).max(MOST_OUTPUT_BYTES).optional(),
    approval: z.union([z.boolean(), z.string().min(1).max(8192), anyFunction]).optional(),
    approvals: z.int().min(1).max(20).optional(),
    separateRequester: z.boolean().optional(),
    approvalExpiresInMs: milliseconds.max(LONGEST_MS).nullable().optional(),
    onFailure: z.enum(['tell', 'fail']).optional(),
    onUnknownEffect: z.enum(['ask', 'probe', 'rerun']).optional(),
    untrusted: z.enum(UNTRUSTED_WAYS).optional(),
    probe: anyFunction.optional(),
    state: z.instanceof(z.ZodType, { error: 'must be a zod schema' }).optional(),
    execute: anyFunction.optional(),
    resume: anyFunction.optional(),
    isolation: z.enum(['thread', 'process']).optional(),
    module: moduleFile.optional(),
    export: z.string().min(1).max(256).optional(),
    limits: z
      .strictObject({
        memoryMb: z.int().min(128).max(1_048_576).optional(),
        cpuSeconds: z.number().min(0.1).max(3600).optional(),
      })
      .optional(),
    env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable'), variable).optional(),
  })
  .superRefine((tool, context) => {
    const isApart = tool.isolation !== undefined;
    const wrong = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (isApart && tool.module === undefined) wrong('module', 'is needed where the body works apart');
    if (!isApart && tool.execute === undefined) wrong('execute', 'must be a function');
    for (const field of isApart ? HERE : APART)
      if (field in tool) wrong(field, `is not for a tool ${isApart ? 'with' : 'without'} isolation`);
  })
  .superRefine((tool, context) => {
    const only = (field: string, effect: string) =>
      context.addIssue({ code: 'custom', path: [field], message: `is only of a tool whose effect is '${effect}'` });
    if (tool.deterministic === true && tool.effect !== 'pure') only('deterministic', 'pure');
    // The calls of all others run again after a crash.
    if (tool.onUnknownEffect !== undefined && (tool.effect ?? 'unsafe') !== 'unsafe') only('onUnknownEffect', 'unsafe');
    const probes = tool.onUnknownEffect === 'probe';
    if (probes === (tool.probe !== undefined)) return;
    const message = probes ? "is needed for onUnknownEffect 'probe'" : "is never asked without onUnknownEffect 'probe'";
    context.addIssue({ code: 'custom', path: ['probe'], message });
  });

/** Refuses a declaration that could not work, or that names a field which nothing reads. Throws `tool_invalid`. */
export function assertDeclaration<I, O, S>(tool: ToolDeclaration<I, O, S> | IsolatedToolDeclaration<I, O>): void {
  const result = declaration.safeParse(tool);
  if (result.success) return;
  // A program in JavaScript may give anything.
  throw wrongTool((tool as { readonly name?: unknown } | null)?.name, fieldErrorsOf(result.error));
}

interface Problem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

export const invalidTool = (name: unknown, problems: readonly Problem[], cause?: unknown): HoldfastError =>
  wrongTool(
    name,
    problems.map(({ path, message }) => ({ pointer: pointerTo(path), detail: message })),
    cause,
  );

/** The same, of what is wrong as a schema says it. */
export function wrongTool(name: unknown, fields: readonly FieldError[], cause?: unknown): HoldfastError {
  const said = fields.map(
    ({ pointer, detail }) => `${pointer === '' ? 'it' : placeOf(pointer)}: ${detail.replace(/\.$/, '')}`,
  );
  const text = `The tool ${JSON.stringify(name) ?? 'without a name'} is not valid: ${said.join('; ')}.`;
  return new HoldfastError('tool_invalid', text, { cause, fields });
}
