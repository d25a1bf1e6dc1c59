import * as agents from '@openai/agents';
import * as zod from 'zod';

/**
 * Packages whose classes are compared by identity: a configuration file must get the very copies that the engine has,
 * whatever is installed beside that file.
 */
export const SHARED_MODULES: { readonly [name: string]: unknown } = { '@openai/agents': agents, zod };
