import type { Chat, Message, MessageEntity, User, UserFromGetMe } from 'grammy/types'

/** What the Bot API answers instead of a result. */
export class BotApiError extends Error {
  readonly status: number
  /** Seconds, for 429. */
  readonly retryAfter: number | undefined
  constructor(status: number, description: string, retryAfter?: number) {
    super(description)
    this.status = status
    this.retryAfter = retryAfter
  }
}

export interface IncomingMessage {
  chatId: number
  userId: number
  text: string
  /** Defaults to `private` for positive chat ids and `supergroup` for negative ones, as Telegram numbers them. */
  chatType?: Chat['type']
  chatTitle?: string
  threadId?: number
  isTopicMessage?: boolean
  isForum?: boolean
  firstName?: string
  entities?: MessageEntity[]
  replyToMessageId?: number
  messageId?: number
  /** Seconds since the epoch. */
  date?: number
}

export interface OutgoingMessage {
  chat_id: number
  text: string
  message_thread_id?: number
  reply_parameters?: { message_id: number }
}

interface ChatState {
  chat: Chat
  messages: Map<number, Message>
  lastMessageId: number
}

/** The chats the bot is in, with message ids counted per chat for both sides, as Telegram does. */
export class BotApiChats {
  readonly #me: UserFromGetMe
  readonly #chats = new Map<number, ChatState>()

  constructor(me: UserFromGetMe) {
    this.#me = me
  }

  receive(incoming: IncomingMessage): Message {
    const state = this.#open(incoming)
    const from: User = {
      id: incoming.userId,
      is_bot: false,
      first_name: incoming.firstName ?? `User ${incoming.userId}`,
    }
    const entities = incoming.entities ?? commandEntities(incoming.text)
    return this.#add(state, incoming.messageId, {
      ...(state.chat.type === 'channel' ? {} : { from }),
      date: incoming.date ?? nowInSeconds(),
      text: incoming.text,
      ...(entities.length > 0 && { entities }),
      ...(incoming.threadId !== undefined && { message_thread_id: incoming.threadId }),
      ...(incoming.isTopicMessage === true && { is_topic_message: true }),
      ...this.#replyTo(state, incoming.replyToMessageId),
    })
  }

  /** Learns the chat of a message that a test made by hand. */
  adopt(message: Message): void {
    const state = this.#chats.get(message.chat.id) ?? newState(message.chat)
    this.#chats.set(message.chat.id, state)
    this.#add(state, message.message_id, message)
  }

  send(outgoing: OutgoingMessage): Message {
    const state = this.#chats.get(outgoing.chat_id)
    if (state === undefined) throw new BotApiError(400, 'Bad Request: chat not found')
    checkText(outgoing.text)
    const thread = outgoing.message_thread_id
    return this.#add(state, undefined, {
      from: this.#me,
      date: nowInSeconds(),
      text: outgoing.text,
      ...(thread !== undefined && { message_thread_id: thread, is_topic_message: true }),
      ...this.#replyTo(state, outgoing.reply_parameters?.message_id),
    })
  }

  edit(chatId: number, messageId: number, text: string): Message {
    const message = this.#chats.get(chatId)?.messages.get(messageId)
    if (message === undefined) throw new BotApiError(400, 'Bad Request: message to edit not found')
    checkText(text)
    if (message.text === text) throw new BotApiError(400, 'Bad Request: message is not modified')
    const edited = { ...message, text, edit_date: nowInSeconds() }
    this.#chats.get(chatId)?.messages.set(messageId, edited)
    return edited
  }

  delete(chatId: number, messageId: number): true {
    if (this.#chats.get(chatId)?.messages.delete(messageId) === true) return true
    throw new BotApiError(400, 'Bad Request: message to delete not found')
  }

  #open(incoming: IncomingMessage): ChatState {
    const known = this.#chats.get(incoming.chatId)
    if (known !== undefined) return known
    const state = newState(toChat(incoming))
    this.#chats.set(incoming.chatId, state)
    return state
  }

  #add(state: ChatState, id: number | undefined, content: object): Message {
    const messageId = id ?? state.lastMessageId + 1
    state.lastMessageId = Math.max(state.lastMessageId, messageId)
    const message = { ...content, message_id: messageId, chat: state.chat } as Message
    state.messages.set(messageId, message)
    return message
  }

  #replyTo(state: ChatState, messageId: number | undefined): object {
    const message = messageId === undefined ? undefined : state.messages.get(messageId)
    return message === undefined ? {} : { reply_to_message: message }
  }
}

function newState(chat: Chat): ChatState {
  return { chat, messages: new Map(), lastMessageId: 0 }
}

function toChat(incoming: IncomingMessage): Chat {
  const id = incoming.chatId
  const type = incoming.chatType ?? (id > 0 ? 'private' : 'supergroup')
  const title = incoming.chatTitle ?? `Chat ${id}`
  switch (type) {
    case 'private':
      return { id, type, first_name: incoming.firstName ?? `User ${incoming.userId}` }
    case 'supergroup':
      return { id, type, title, ...(incoming.isForum === true && { is_forum: true }) }
    default:
      return { id, type, title }
  }
}

function commandEntities(text: string): MessageEntity[] {
  const command = /^\/\w+(?:@\w+)?/.exec(text)?.[0]
  return command === undefined ? [] : [{ type: 'bot_command', offset: 0, length: command.length }]
}

function checkText(text: unknown): void {
  if (typeof text !== 'string' || text.trim() === '')
    throw new BotApiError(400, 'Bad Request: message text is empty')
  if (text.length > 4096) throw new BotApiError(400, 'Bad Request: message is too long')
}

function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
