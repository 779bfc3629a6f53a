# `handrail test examples/guards` tries these.
docker ps                                   # want ask block-docker
bash -c 'docker ps'                         # want ask block-docker
echo hi                                     # want allow
safe_write {"path": "db/1.sql", "content": ""}   # want ask protect-migrations
sed -i s/a/b/ db/1.sql                      # want ask protect-migrations
cat db/1.sql                                # want allow
curl https://api.prod.example.com/          # want deny team/production
rm -rf build/objects                        # want allow team/clean-build
rm -rf build/objects; rm -rf /              # want deny fs/system-tree
touch /srv/shared/team/notes                # want allow team/shared
touch /srv/shared/notes                     # want ask fs/outside
