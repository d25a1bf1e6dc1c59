mkdir $1
for file in ${*#$1}; do
  cp $file $1/$(basename $file).bak
done
echo saved $(($# - 1))
