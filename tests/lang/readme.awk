# The C++ of a Markdown file: each ```cpp block is a test case, of which errors name the file and the line.
function close_block() { print "    readme.run();\n}" }
/^```/ && inside { inside = 0; close_block(); next }
/^```cpp/ {
    inside = 1
    printf "TEST_CASE(\"lang/README.md:%d\") {\n    Block readme;\n#line %d \"lang/README.md\"\n", NR, NR + 1
    next
}
inside { print }
# In this file too: doctest runs the cases of one file in their order.
END { print "TEST_CASE(\"there are blocks, and they ran\") { CHECK(blocks > 8); }" }
