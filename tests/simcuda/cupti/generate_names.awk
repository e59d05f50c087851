# Turns the enumerations of CUPTI's callback ids into tables of names, one line each, in the order of the ids.
# Usage: awk -f generate_names.awk cupti_driver_cbid.h cupti_runtime_cbid.h
function open_table(name) {
  if (table != "") print "};"
  table = name
  expected = 0
  print "constexpr const char* " name "[] = {"
}
/^ *CUPTI_(DRIVER|RUNTIME)_TRACE_CBID_/ {
  name = $1
  domain = name ~ /^CUPTI_DRIVER/ ? "kDriverNames" : "kRuntimeNames"
  if (domain != table) open_table(domain)
  sub(/^CUPTI_(DRIVER|RUNTIME)_TRACE_CBID_/, "", name)
  if (name == "SIZE" || name == "FORCE_INT") next
  id = $3
  sub(/,.*/, "", id)
  if (id + 0 != expected) {
    print "callback id " id " stands where " expected " was expected" > "/dev/stderr"
    exit 1
  }
  ++expected
  print "    \"" name "\","
}
END { print "};" }
