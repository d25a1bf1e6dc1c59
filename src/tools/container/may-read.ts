import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolContext } from '../../core/tools/tool.js';

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
