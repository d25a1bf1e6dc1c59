sh audit.sh project >found.txt
