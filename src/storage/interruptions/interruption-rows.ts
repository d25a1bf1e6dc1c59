import type {
  InterruptionReason,
  InterruptionStatus,
  InterruptionView,
  Verdict,
} from '../../core/interruptions/interruption.js';
import { columnsOf } from '../database/columns.js';

export interface InterruptionRow {
  id: string;
  run_id: string;
  tenant: string;
  agent: string;
  segment: number;
  kind: InterruptionView['kind'];
  status: InterruptionStatus;
  call_id: string | null;
  tool: string | null;
  arguments: string;
  reason: InterruptionReason;
  reason_text: string;
  verdicts: string;
  digest: string;
  required_approvals: number;
  separate_requester: boolean | null;
  tool_version: string;
  capabilities: string;
  requested_at: Date;
  expires_at: Date | null;
  settled_at: Date | null;
  wait: string | null;
  event_name: string | null;
  /** The run in which it was asked for and decided, where a fork took it over. */
  origin_run_id: string | null;
}

export interface DecisionRow {
  id: string;
  /** 1, 2, 3 … in the order in which the decisions about one interruption were made. */
  vote: number;
  interruption_id: string;
  run_id: string;
  tenant: string;
  verdict: Verdict;
  actor: string;
  message: string | null;
  value: string;
  edit: string | null;
  always: string | null;
  decided_at: Date;
}

export const interruptionColumns = columnsOf<InterruptionRow>({
  id: true,
  run_id: true,
  tenant: true,
  agent: true,
  segment: true,
  kind: true,
  status: true,
  call_id: true,
  tool: true,
  arguments: true,
  reason: true,
  reason_text: true,
  verdicts: true,
  digest: true,
  required_approvals: true,
  separate_requester: true,
  tool_version: true,
  capabilities: true,
  requested_at: true,
  expires_at: true,
  settled_at: true,
  wait: true,
  event_name: true,
  origin_run_id: true,
});

export const decisionColumns = columnsOf<DecisionRow>({
  id: true,
  vote: true,
  interruption_id: true,
  run_id: true,
  tenant: true,
  verdict: true,
  actor: true,
  message: true,
  value: true,
  edit: true,
  always: true,
  decided_at: true,
});
