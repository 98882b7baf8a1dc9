import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { Changes, PATIENCE_MS } from './changes.ts'

export interface ProcessOptions {
  cwd?: string
  /** Added to this process's environment; `undefined` removes a variable. */
  env?: Record<string, string | undefined>
  /** Written to standard input, which is then closed; without it, it stays open for `write`. */
  input?: string
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A developer's own tokens must not make a test talk to the real services, nor the runner's marks confuse a child. */
const PRIVATE = /^(?:TELEGRAM_|DISCORD_|OPENAI_|HERMES_|NODE_TEST_CONTEXT$)/

/** Starts a program and collects what it prints. */
export function startProcess(
  command: string,
  args: string[],
  options: ProcessOptions = {},
): RunningProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !PRIVATE.test(name))
  const child = spawn(command, args, {
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    env: { ...Object.fromEntries(inherited), ...options.env },
    stdio: 'pipe',
  })
  const running = new RunningProcess(child, [command, ...args].join(' '))
  if (options.input !== undefined) child.stdin.end(options.input)
  return running
}

/** Starts a script under the Node that runs the tests. */
export function startNode(
  script: string,
  args: string[] = [],
  options: ProcessOptions = {},
): RunningProcess {
  return startProcess(process.execPath, [script, ...args], options)
}

export class RunningProcess {
  stdout = ''
  stderr = ''
  /** Resolves when the process has ended and everything it printed was read. */
  readonly exited: Promise<Exit>
  readonly #child: ChildProcessWithoutNullStreams
  readonly #name: string
  readonly #changes = new Changes()
  #output = ''
  #matchedUpTo = 0
  #exit: Exit | undefined

  constructor(child: ChildProcessWithoutNullStreams, name: string) {
    this.#child = child
    this.#name = name.slice(0, 200)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
      this.#print(text)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
      this.#print(text)
    })
    // A program that cannot be started ends like one that failed, with the reason as its output.
    child.on('error', (error) => {
      this.stderr += String(error)
      this.#print(String(error))
    })
    // A child that has gone cannot read: the test sees that in `exited`.
    child.stdin.on('error', () => undefined)
    this.exited = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        this.#exit = { code, signal }
        resolve(this.#exit)
        this.#changes.notify()
      })
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /**
   * The next text in standard output and standard error, as they came, that matches after the previous match.
   * @throws when the process ends without it, or after `timeoutMs`; the message carries the output.
   */
  waitForOutput(pattern: RegExp | string, timeoutMs: number = PATIENCE_MS): Promise<string> {
    const describe = () => `${String(pattern)} from ${this.#name}; it printed:\n${this.#output}`
    return this.#changes.until(
      () => {
        const found = this.#take(pattern)
        if (found === undefined && this.#exit !== undefined)
          throw new Error(`exited ${JSON.stringify(this.#exit)} without ${describe()}`)
        return found
      },
      timeoutMs,
      describe,
    )
  }

  /** Types a line. */
  write(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  /** Closes standard input. */
  end(): void {
    this.#child.stdin.end()
  }

  /** Closes our end of its standard output, as `head` does when it has seen enough. */
  stopReading(): void {
    this.#child.stdout.destroy()
  }

  kill(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    if (this.#exit === undefined) this.#child.kill(signal)
    return this.exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill('SIGKILL')
  }

  #print(text: string): void {
    this.#output += text
    this.#changes.notify()
  }

  #take(pattern: RegExp | string): string | undefined {
    const rest = this.#output.slice(this.#matchedUpTo)
    const match =
      typeof pattern === 'string'
        ? { index: rest.indexOf(pattern), text: pattern }
        : { index: rest.search(pattern), text: pattern.exec(rest)?.[0] ?? '' }
    if (match.index < 0) return undefined
    this.#matchedUpTo += match.index + match.text.length
    return match.text
  }
}
