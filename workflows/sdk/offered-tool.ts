import type { WrappedTool } from '../segment-context.js';

/** A function tool as a model may call it: by its name, in its namespace, at once or after it was searched for. */
export interface OfferedTool {
  readonly name: string;
  readonly namespace: string | null;
  readonly deferred: boolean;
  readonly wrapped: WrappedTool;
}

/**
 * The tool that a call means, found as the SDK finds it: some providers leave the namespace out, or write it in front of the
 * name, or say the name of a deferred tool twice. Of several the last counts, as in the SDK.
 */
export function offeredTool(
  offered: readonly OfferedTool[],
  call: { readonly name: string; readonly namespace: string | null },
): WrappedTool | undefined {
  const { name, namespace } = call;
  const alone = (deferred: boolean) =>
    offered.findLast((tool) => tool.name === name && tool.namespace === null && tool.deferred === deferred)?.wrapped;
  if (namespace === name) return alone(true);
  if (namespace !== null)
    return offered.findLast((tool) => tool.name === name && tool.namespace === namespace)?.wrapped;
  return alone(false) ?? alone(true) ?? flattened(offered, name);
}

function flattened(offered: readonly OfferedTool[], name: string): WrappedTool | undefined {
  const [only, ...others] = offered.filter(
    (tool) => tool.namespace !== null && `${tool.namespace}.${tool.name}` === name,
  );
  return others.length === 0 ? only?.wrapped : undefined;
}
