const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs work that leaves something half-done behind when it is killed: a signal asks it to stop, and
 * when it has cleaned up the process dies of that signal after all. A second one does not wait.
 */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  let received: NodeJS.Signals | undefined
  const interrupt = (signal: NodeJS.Signals): void => {
    received = signal
    stopListening()
    controller.abort()
  }
  const stopListening = (): void => {
    for (const signal of SIGNALS) process.removeListener(signal, interrupt)
  }
  for (const signal of SIGNALS) process.on(signal, interrupt)
  try {
    return await work(controller.signal)
  } finally {
    stopListening()
    if (received) process.kill(process.pid, received)
  }
}
