import { ARCHITECTURE_BLOCKS } from './architecture.js';
import { cliBlock } from './cli.js';
import { errorsBlock } from './errors.js';
import { EVENT_BLOCKS } from './events.js';
import { HTTP_BLOCKS } from './http.js';
import { schemaBlock } from './schema.js';
import { settingsBlock } from './settings.js';

/** What pages can name between `<!-- generated: NAME -->` and `<!-- /generated -->`: Markdown that is made from the code. */
export const BLOCKS: { readonly [name: string]: () => string } = {
  cli: cliBlock,
  errors: errorsBlock,
  schema: schemaBlock,
  settings: settingsBlock,
  ...EVENT_BLOCKS,
  ...HTTP_BLOCKS,
  ...ARCHITECTURE_BLOCKS,
};
