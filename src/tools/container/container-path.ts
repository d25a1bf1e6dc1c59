import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { parseRequest } from '../../core/grants/capability-text.js';
import type { ToolContext } from '../../core/tools/tool.js';

/** An absolute path in the only form that capabilities have. */
export const containerPath = z
  .string()
  .max(4096)
  .superRefine((path, context) => {
    try {
      parseRequest(`container:read:${path}`);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
    }
  });

/** Text in UTF-8; null: it is none. */
export function textOf(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** What no one granted is not told of, and neither are names that are no paths. */
export function mayRead({ require }: Pick<ToolContext, 'require'>, file: string): boolean {
  try {
    require(`container:read:${file}`);
    return true;
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'capability_denied') return false;
    throw error;
  }
}
