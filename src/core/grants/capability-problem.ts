import { HoldfastError } from '../errors/errors.js';

/** What the parsers of capabilities throw; its message says what is wrong and how it is written rightly. */
export const notACapability = (message: string): HoldfastError => new HoldfastError('capability_invalid', message);
