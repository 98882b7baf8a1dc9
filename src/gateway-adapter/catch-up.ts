import { nowSeconds } from '../schema/clock.ts'
import type { Store } from '../store.ts'
import { checkAnswerOptions, type AnswerOptions, type Answering } from './answer.ts'
import { callableOf } from './arguments.ts'
import type { ChatOptions } from './chat.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxOptions, Reply } from './outbox-rows.ts'
import { listPending } from './pending.ts'

export interface CatchUpOptions extends OutboxOptions, AnswerOptions {
  /** Seconds since the epoch; messages taken earlier are left alone. By default a day ago. */
  readonly since?: number | Date | undefined
  /**
   * Whether to send a reply that is left, which may be in the chat already (`maybeSent`); yes by default.
   * One that is not sent is abandoned.
   */
  readonly again?: ((reply: Reply) => boolean) | undefined
}

/** What `catchUp` has done. */
export interface CaughtUp {
  readonly answered: number
  readonly sent: number
}

const DAY_SECONDS = 24 * 60 * 60

/** @throws {AggregateError} */
export async function catchUp(
  store: Store,
  answering: Answering,
  outbox: Outbox,
  options: CatchUpOptions,
  keys: ChatOptions,
): Promise<CaughtUp> {
  checkAnswerOptions(options)
  const { send, again, since = nowSeconds() - DAY_SECONDS } = options
  if (again !== undefined) callableOf('again', again)
  // First what is left, so that a failure of now is not tried again at once.
  const left = send ? await outbox.undelivered(options) : []
  const pending = await listPending(store.db, { ...options, since }, keys)
  const byTurn = [...Map.groupBy(left, (reply) => reply.turnId).values()]
  const [sending, answers] = await Promise.all([
    Promise.allSettled(byTurn.map((replies) => sendAgain(outbox, replies, options))),
    Promise.allSettled(pending.map((turn) => answering.answer(turn, options))),
  ])
  const errors = [...sending, ...answers].flatMap((each) =>
    each.status === 'rejected' ? [each.reason as unknown] : [],
  )
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} chats wait for more`)
  return {
    answered: answers.filter((each) => each.status === 'fulfilled' && each.value === 'answered')
      .length,
    sent: sending.reduce((sum, each) => sum + (each.status === 'fulfilled' ? each.value : 0), 0),
  }
}

/** The parts of one answer, in order. */
async function sendAgain(
  outbox: Outbox,
  replies: readonly Reply[],
  { send, again = () => true, isRefusal, signal }: CatchUpOptions,
): Promise<number> {
  const wanted: Reply[] = []
  for (const reply of replies) {
    if (again(reply)) wanted.push(reply)
    else await outbox.abandon(reply.id)
  }
  const [first] = wanted
  if (!send || !first || signal?.aborted || !(await outbox.takeUp(first))) return 0
  await outbox.send(wanted, send, isRefusal ? { isRefusal } : {})
  return wanted.length
}
