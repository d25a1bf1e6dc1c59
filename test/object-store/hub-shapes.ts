import { z } from 'zod';

/** Forms of the requests of a Hub: nothing else is taken. */

export const oid = z.string().regex(/^[0-9a-f]{64}$/);
export const path = z.string().regex(/^[A-Za-z0-9][\w./-]*$/);
export const base64 = z.base64();
export const preuploadBody = z.strictObject({
  files: z
    .array(z.strictObject({ path, size: z.int().min(0), sample: base64.max(700) }))
    .min(1)
    .max(256),
});
export const batchBody = z.strictObject({
  operation: z.literal('upload'),
  transfers: z.array(z.string()).refine((all) => all.includes('basic') && all.includes('multipart')),
  hash_algo: z.enum(['sha256', 'sha_256']),
  ref: z.strictObject({ name: z.literal('main') }).optional(),
  objects: z
    .array(z.strictObject({ oid, size: z.int().min(1) }))
    .min(1)
    .max(256),
});
export const createBody = z.strictObject({
  ...{ type: z.literal('dataset'), name: z.string(), organization: z.string() },
  visibility: z.enum(['private', 'public']),
});
export const headerLine = z.strictObject({
  key: z.literal('header'),
  value: z.strictObject({
    ...{ summary: z.string().min(1), description: z.string().optional() },
    parentCommit: z
      .string()
      .regex(/^[0-9a-f]{40}$/)
      .optional(),
  }),
});
export const commitLine = z.discriminatedUnion('key', [
  z.strictObject({
    key: z.literal('file'),
    value: z.strictObject({ path, content: base64, encoding: z.literal('base64') }),
  }),
  z.strictObject({
    key: z.literal('lfsFile'),
    value: z.strictObject({ path, algo: z.literal('sha256'), oid, size: z.int() }),
  }),
  z.strictObject({ key: z.literal('deletedFile'), value: z.strictObject({ path }) }),
]);
