import type { Operation } from '../../src/core/operations/operation.js';
import { OPERATIONS } from '../../src/core/operations/table.js';

export const CLIENT_ROUTES = 'src/client/routes.ts';

function lineOf(name: string, { method, path, query, body }: Operation): string {
  const takes = Object.keys((method === 'GET' ? query : body).shape).length > 0;
  return `  ${name}: '${method} ${path}${takes ? (method === 'GET' ? ' query' : ' body') : ''}',`;
}

/** The table of operations as `holdfast/client` needs it: without schemas, so that it weighs little. */
export const clientRoutes = (): string => `import type { OperationName } from '../core/operations/table.js';

/** Written by \`npm run docs\` from the table of operations: method, path, and whether a query or a body is taken. */
export const ROUTES = {
${Object.entries<Operation>(OPERATIONS)
  .map(([name, operation]) => lineOf(name, operation))
  .join('\n')}
} as const satisfies { readonly [Name in OperationName]: string };
`;
