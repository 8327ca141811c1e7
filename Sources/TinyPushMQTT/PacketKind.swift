/// The kinds of MQTT 5 control packets (section 2.1.2), by the upper four bits of their first byte.
enum PacketKind: UInt8 {
  case connect = 1
  case connectAnswer = 2
  case publish = 3
  case publishAnswer = 4
  case subscribe = 8
  case subscribeAnswer = 9
  case unsubscribe = 10
  case unsubscribeAnswer = 11
  case ping = 12
  case pingAnswer = 13
  case disconnect = 14
}
