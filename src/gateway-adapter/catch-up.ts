import { requireObject } from '../repositories/input.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Store } from '../store.ts'
import { checkAnswerOptions, type AnswerOptions, type Answering, type Outcome } from './answer.ts'
import { callableOf } from './arguments.ts'
import type { ChatOptions } from './chat.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxOptions, Reply } from './outbox-rows.ts'
import { listPending } from './pending.ts'

/** Which bot's leftovers are dealt with, and how. */
export interface CatchUpOptions extends OutboxOptions, Omit<AnswerOptions, 'ask'> {
  /** As for `answer`. Without it nothing is answered, and without `send` nothing sent. */
  readonly ask?: AnswerOptions['ask'] | undefined
  /** Messages taken earlier are left alone: seconds since the epoch, or a date. By default a day ago. */
  readonly since?: number | Date | undefined
  /**
   * What to do with a reply that is left, which may be in the chat already (`maybeSent`): to send it, the
   * default, to let it wait for another time, or to abandon it.
   */
  readonly again?: ((reply: Reply) => 'send' | 'wait' | 'abandon') | undefined
}

/** What `catchUp` has done. */
export interface CaughtUp {
  /** Messages that got their answer here. */
  readonly answered: number
  /** Replies that the platform has confirmed. */
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
  const { ask, send, since = nowSeconds() - DAY_SECONDS } = checkCatchUpOptions(options)
  // Both first: what fails now is for another time.
  const left = send ? await outbox.undelivered(options) : []
  const pending = ask ? await listPending(store.db, { ...options, since }, keys) : []
  const errors: unknown[] = []
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      errors.push(error)
      return undefined
    }
  }

  let sent = 0
  const sending = [...Map.groupBy(left, chatOf).values()].map(async (replies) => {
    for (const turn of Map.groupBy(replies, ({ turnId }) => turnId).values()) {
      sent += (await attempt(() => sendAgain(outbox, turn, options))) ?? 0
    }
  })
  const answers: Promise<Outcome | undefined>[] = pending.map((taken) =>
    attempt(() => answering.answer(taken, { ...options, ask: ask! })),
  )
  await Promise.all(sending)
  const outcomes = await Promise.all(answers)
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} attempts failed`)
  return { answered: outcomes.filter((outcome) => outcome === 'answered').length, sent }
}

/** The parts of one answer, in order. */
async function sendAgain(
  outbox: Outbox,
  replies: readonly Reply[],
  { send, again = () => 'send', isRefusal, signal }: CatchUpOptions,
): Promise<number> {
  const wanted: Reply[] = []
  for (const reply of replies) {
    const next = again(reply)
    if (next === 'wait') break
    if (next === 'send') wanted.push(reply)
    else await outbox.abandon(reply.id)
  }
  const [first] = wanted
  if (!send || !first || signal?.aborted || !(await outbox.takeUp(first))) return 0
  await outbox.send(wanted, send, isRefusal ? { isRefusal } : {})
  return wanted.length
}

/** What is said in one chat is said in order. */
function chatOf({ source }: Reply): string {
  return JSON.stringify([source.chatId, source.threadId, source.userId])
}

function checkCatchUpOptions(options: CatchUpOptions): CatchUpOptions {
  requireObject('options', options)
  checkAnswerOptions({ ...options, ask: options.ask ?? (async () => undefined) })
  if (options.again !== undefined) callableOf('again', options.again)
  return options
}
