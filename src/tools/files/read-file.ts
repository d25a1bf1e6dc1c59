import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { boundOf, readOptions } from '../define/tool-options.js';
import { absolutePath, elsewhere, resolveReal, withOpened } from './real-path.js';

const DEFAULT_MAX_BYTES = 131_072;
/** Of a character. */
const BYTES_IN_JSON = 6;

export interface ReadFileOptions {
  readonly maxBytes?: number;
  /** Whether a file is read that has other names: one of them may lie outside of what is granted. Default false. */
  readonly allowHardLinks?: boolean;
}

const OPTIONS = {
  maxBytes: boundOf(BYTES_IN_JSON).default(DEFAULT_MAX_BYTES),
  allowHardLinks: z.boolean().default(false),
};

/**
 * `read_file`: a text file in UTF-8, whole. Needs `fs:read:<path>` for the path that is asked for and for where it really leads.
 * Refuses a file that has several hard links: no path says where its other names are.
 */
export function readFileTool(options: ReadFileOptions = {}): DeclaredTool {
  const { maxBytes, allowHardLinks } = readOptions('read_file', OPTIONS, options);
  return defineTool({
    untrusted: 'file',
    name: 'read_file',
    description: `Reads a text file of at most ${maxBytes} bytes.`,
    input: z.object({ path: absolutePath.describe('Absolute path of the file.') }),
    output: z.object({ content: z.string(), sizeBytes: z.int() }),
    capabilities: ({ path }) => [`fs:read:${path}`],
    effect: 'pure',
    maxOutputBytes: maxBytes * BYTES_IN_JSON + 1024,
    execute: async ({ path }, context) => {
      context.require(`fs:read:${path}`);
      const real = await resolveReal(path);
      context.require(`fs:read:${real}`);
      const bytes = await withOpened(real, 0, async (handle) => {
        const stat = await handle.stat();
        if (!stat.isFile()) throw new HoldfastError('tool_failed', `${path} is not a regular file.`);
        if (stat.nlink > 1 && !allowHardLinks) throw elsewhere(path, 'the same file has other names');
        return readBounded(handle, path, maxBytes, context.signal);
      });
      return { content: decode(bytes, path), sizeBytes: bytes.length };
    },
  });
}

/** Reads one byte more than allowed at most: the size that a file reports may be wrong, or grow. */
async function readBounded(handle: FileHandle, path: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  while (size <= maxBytes) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(Math.min(65_536, maxBytes + 1 - size)));
    if (bytesRead === 0) return Buffer.concat(chunks);
    chunks.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
  throw new HoldfastError('payload_too_large', `${path} is larger than ${maxBytes} bytes.`);
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new HoldfastError('tool_failed', `${path} is not text in UTF-8.`, { cause });
  }
}
