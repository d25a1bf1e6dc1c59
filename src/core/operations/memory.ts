import { z } from 'zod';
import {
  documentName,
  forgetDocument,
  forgottenView,
  memoryDocumentView,
  memoryEntry,
  memorySpaceView,
  spacePath,
} from '../memory/memory-view.js';
import { pageLimit } from '../page.js';
import { queryText } from '../tools/memory-change.js';
import { pageOf, pageQuery } from './fields.js';
import { operation } from './operation.js';

export const MEMORY_OPERATIONS = {
  listMemorySpaces: operation({
    method: 'GET',
    path: '/api/v1/memory',
    summary: 'List the memory spaces of the agents, and those with documents.',
    access: { tenant: 'viewer' },
    response: z.object({ items: z.array(memorySpaceView) }),
    errors: [],
    args: (_input, { caller }) => [caller],
  }),
  listMemory: operation({
    method: 'GET',
    path: '/api/v1/memory/{space}/documents',
    summary: 'List the documents of a memory space, by owner and key.',
    access: { tenant: 'viewer' },
    pathParams: spacePath,
    query: z.strictObject({
      ...pageQuery,
      owner: z.string().max(200).exactOptional().describe('Only of this owner.'),
      q: queryText.exactOptional().describe('Only with all of these words.'),
      near: queryText
        .exactOptional()
        .describe('The documents whose meaning is nearest to this text, in one page; not with `q` and `cursor`.'),
    }),
    response: pageOf(memoryEntry),
    errors: ['memory_invalid', 'model_failed'],
    args: ({ path, query }, { caller }) => [path.space, query, caller],
  }),
  getMemory: operation({
    method: 'GET',
    path: '/api/v1/memory/{space}/document',
    summary: 'Read a document of memory with its history and where each change comes from.',
    access: { tenant: 'viewer' },
    pathParams: spacePath,
    query: documentName.extend({
      after: z.coerce.number().int().min(0).default(0).describe('Only changes after this version.'),
      limit: pageLimit,
    }),
    response: memoryDocumentView,
    errors: ['memory_unknown'],
    args: ({ path, query: { owner, key, after, limit } }, { caller }) => [
      { space: path.space, owner, key },
      { after, limit },
      caller,
    ],
  }),
  forgetMemory: operation({
    method: 'POST',
    path: '/api/v1/memory/{space}/forget',
    summary: 'Remove a document of memory with its history.',
    access: { tenant: 'admin' },
    pathParams: spacePath,
    body: forgetDocument,
    response: forgottenView,
    errors: ['memory_unknown'],
    audited: true,
    args: ({ path, body }, { caller }) => [{ space: path.space, ...body }, caller],
  }),
};
