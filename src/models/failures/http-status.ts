import { HoldfastError } from '../../core/errors/errors.js';
import { causesOf, statusOf } from './failure-causes.js';
import { ModelCallError } from './model-call-error.js';

/** The HTTP status that a model's server failed with; null: it failed without one. The status of our own errors is not it. */
export function httpStatusOf(error: unknown): number | null {
  for (const item of causesOf(error)) {
    const status =
      item instanceof HoldfastError ? (item instanceof ModelCallError ? item.statusCode : null) : statusOf(item);
    if (status !== null) return status;
  }
  return null;
}
